"""One file a migration, in order; a migration that has been released is never edited."""
