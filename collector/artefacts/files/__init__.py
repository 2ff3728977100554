"""What a user names, as files to read: folders, archives of them, standard input.

In: paths. Out: the files by the names that a report calls them. Imports: vocabulary; found,
recordings.
"""
