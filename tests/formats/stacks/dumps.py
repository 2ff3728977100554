"""Dumps of a job of four ranks over gloo whose rank 2 left its loop, by several programs."""

PYSPY_WAITS = """\
Process {pid}: /opt/venv/bin/python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:3252)
    _exception_logger.<locals>.wrapper (torch/distributed/c10d_logger.py:83)
    sum_gradients (train.py:9)
    main (train.py:20)
    <module> (train.py:21)
Thread 30677 (idle): "QueueFeederThread"
    Condition.wait (threading.py:327)
    Queue._feed (multiprocessing/queues.py:231)
    Thread.run (threading.py:982)
"""
PYSPY_ELSEWHERE = """\
Process {pid}: /opt/venv/bin/python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread {pid} (idle): "MainThread"
    load_shard (train.py:6)
    main (train.py:19)
    <module> (train.py:21)
"""
PYSPY_NATIVE = """\
Process 30656: /opt/venv/bin/python -u train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 30656 (idle): "MainThread"
    0x7f194e2a3f16 (libc.so.6)
    std::condition_variable::wait (libstdc++.so.6.0.30)
    c10d::Work::wait (libtorch_cpu.so)
    pybind11::cpp_function::dispatcher (libtorch_python.so)
    all_reduce (torch/distributed/distributed_c10d.py:3252)
    <module> (train.py:21)
"""
PYSTACK = """\
Traceback for thread 30678 (python) [] (most recent call last):
    (Python) File "/usr/lib/python3.11/threading.py", line 1002, in _bootstrap
        self._bootstrap_inner()
    (Python) File "/usr/lib/python3.11/multiprocessing/queues.py", line 231, in _feed
        nwait()

Traceback for thread 30658 (python) [] (most recent call last):
    (Python) File "/job/train.py", line 21, in <module>
        main()
    (Python) File "/job/train.py", line 19, in main
        if step == 5: load_shard(step)
    (Python) File "/job/train.py", line 6, in load_shard
        time.sleep(0.5)
"""
GDB = """\
[New LWP 30662]
[Thread debugging using libthread_db enabled]
0x00007f194e2a3f16 in __futex_abstimed_wait_common () from /lib/libc.so.6

Thread 2 (Thread 0x7f192f0146c0 (LWP 30662) "gloo_tcp_loop"):
#0  0x00007f194e3279ee in epoll_wait (epfd=7, events=0x7f192f0137e0, maxevents=64, timeout=-1)
    at ../sysdeps/unix/sysv/linux/epoll_wait.c:30
#1  0x00007f193dbe4a4a in gloo::transport::tcp::Loop::run() () from /opt/lib/libtorch_cpu.so

Thread 1 (Thread 0x7f194ea14b80 (LWP 30656) "python"):
#0  __futex_abstimed_wait_common64 (private=0, op=393) at ./nptl/futex-internal.c:57
#1  0x00007f193db6984b in c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> >) ()
   from /opt/lib/libtorch_cpu.so
#2  0x00007f194e4fd9c3 in _PyEval_EvalFrameDefault (tstate=<optimized out>) at Python/ceval.c:4769
[Inferior 1 (process 30656) detached]
"""
EU_STACK = """\
PID 30656 - process
TID 30656:
#0  0x00007f194e2a3f16 __futex_abstimed_wait_common
#1  0x00007f194e2a65d8 pthread_cond_wait@@GLIBC_2.3.2
#2  0x00007f193db6984b c10d::Work::wait(std::chrono::duration<long, std::ratio<1l, 1000l> >)
#3  0x00007f194e4fd9c3 _PyEval_EvalFrameDefault
TID 30662:
#0  0x00007f194e3279ee epoll_wait
#1  0x00007f193dbe4a4a gloo::transport::tcp::Loop::run()
"""
FAULTHANDLER = """\
Timeout (0:05:00)!
Thread 0x00007f192d8116c0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 327 in wait
  File "/usr/lib/python3.11/multiprocessing/queues.py", line 231 in _feed

Thread 0x00007f194ea14b80 (most recent call first):
  File "/opt/torch/distributed/distributed_c10d.py", line 3252 in all_reduce
  File "/job/train.py", line 9 in sum_gradients
  File "/job/train.py", line 21 in <module>
"""
BACKWARD = """\
Process 42: python train.py --local_rank=5
Python v3.10.12 (/usr/bin/python3.10)

Thread 42 (idle): "MainThread"
    _engine_run_backward (torch/autograd/graph.py:769)
    backward (torch/autograd/__init__.py:266)
    training_loop (train.py:410)
    <module> (train.py:587)
Thread 928 (idle): "Thread-1"
    wait (threading.py:324)
    run (tqdm/_monitor.py:60)
Thread 4076 (idle)
Thread 4079 (active)
    all_gather_into_tensor (torch/distributed/distributed_c10d.py:2709)
    wrapper (torch/distributed/c10d_logger.py:72)
    all_gather_into_tensor (deepspeed/comm/torch.py:219)
"""
