from urllib.parse import urlparse, parse_qs, quote
import html
[urlparse("https://a.b/c?d=1").netloc, parse_qs("x=1&x=2")["x"], quote("a b"), html.escape("<a>")]
# => ["a.b",["1","2"],"a%20b","&lt;a&gt;"]
