import csv, io
rows = list(csv.DictReader(io.StringIO("a,b\n1,2\n3,4\n")))
out = io.StringIO(); csv.writer(out).writerow([1, "x,y"])
[rows[1]["b"], out.getvalue().strip()]
# => ["4","1,\"x,y\""]
