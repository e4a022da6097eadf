"""An HTTP server for models, and a page to try them.

Start it with ``hyperspan serve``, or with :func:`hyperspan.serve.app.create_app` in a program.
"""
