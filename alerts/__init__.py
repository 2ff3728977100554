"""From findings to incidents, from incidents to causes, from both to whom they concern."""
