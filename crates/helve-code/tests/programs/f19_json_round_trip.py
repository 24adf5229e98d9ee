import json
text = json.dumps({"b": [1, None, True], "a": "é"}, sort_keys=True, ensure_ascii=False)
[text, json.loads(text)["b"][2]]
# => ["{\"a\": \"é\", \"b\": [1, null, true]}",true]
