# Parses Python statements for interop runs: a JSON array of texts on stdin, an array of complaints (or null) on stdout.
import ast
import json
import sys


def complaint(text):
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError) as error:
        return str(error)
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef):
        return "parses, but not as one function"
    return None


json.dump([complaint(text) for text in json.load(sys.stdin)], sys.stdout)
