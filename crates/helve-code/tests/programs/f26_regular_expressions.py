import re
m = re.search(r"(?P<user>\w+)@(\w+)\.com", "mail bob@site.com now")
[m["user"], re.sub(r"\d+", lambda m: str(int(m[0]) + 1), "a1 b9"), re.findall(r"\w", "a-b")]
# => ["bob","a2 b10",["a","b"]]
