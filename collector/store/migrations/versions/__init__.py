"""One file a migration, in order; a migration that has been released is never edited.

In: the tables that the migration before left. Out: those that the next one finds. Imports: none.
"""
