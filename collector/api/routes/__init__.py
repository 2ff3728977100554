"""One file a resource; each has `router(...)`, and `app.create_app` lists them."""
