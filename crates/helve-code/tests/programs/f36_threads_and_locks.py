import threading, queue
total, lock, q = 0, threading.Lock(), queue.Queue()
def work(n):
    global total
    with lock: total += n
    q.put(n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(5)]
[t.start() for t in threads]; [t.join() for t in threads]
[total, q.qsize()]
# => [10,5]
