"""What developers of the project run: generators of reference pages, pictures, contracts."""
