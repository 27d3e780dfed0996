"""The system under test: a question as JSON on stdin, an answer on stdout."""

import json
import sys

KNOWN = {
    "norway": "The capital of Norway is Oslo.",
    "sweden": "Stockholm is the capital of Sweden.",
    "denmark": "That would be Copenhagen.",
    "finland": "Helsinki.",
    "iceland": "It is Reykjavik, on the island of Iceland.",
}
question = json.load(sys.stdin)["input"].lower()
print(next((said for name, said in KNOWN.items() if name in question), "I do not know."))
