"""Would a test fail if this line were wrong? A seeded sample of small errors, each tried once.

    python -m tools.mutants draw --seed 35 --count 200 > mutants.jsonl
    python -m tools.mutants map map.sqlite -- -m 'not acceptance'
    python -m tools.mutants run mutants.jsonl --map map.sqlite --tests 'not long'

`mutmut` and `cosmic-ray` mutate every line and run one command for each; here a suite takes tens of
minutes, and what is wanted is one figure, comparable between two states of the code. So a sample is
drawn once and found again after code has moved, and each mutant meets only the tests that reach its
line, in a process that has loaded the libraries already.
"""
