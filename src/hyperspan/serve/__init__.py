"""An HTTP server for models, and a page to try them: ``hyperspan serve``, or :func:`hyperspan.serve.app.create_app` in
a program."""
