"""What libraries report of their own collectives while a job runs, without a word in its code."""
