from datetime import datetime, timedelta, timezone, date
start = datetime(2024, 2, 28, tzinfo=timezone.utc) + timedelta(days=2)
[start, date(2024, 1, 5).isocalendar()[1], datetime.strptime("03/04/2024", "%d/%m/%Y").strftime("%A")]
# => ["2024-03-01T00:00:00+00:00",1,"Wednesday"]
