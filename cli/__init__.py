"""The command `rankscope`: one verb a file, an entry point that needs the standard library only."""
