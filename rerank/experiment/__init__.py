"""What verbs do with files of lists: read, judge, convert, predict, write."""
