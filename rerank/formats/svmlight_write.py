def write_lists(lists, path):
    raise NotImplementedError
