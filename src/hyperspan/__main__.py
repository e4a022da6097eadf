from hyperspan.cli import main

main()
