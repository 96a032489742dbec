# supd's own actors, /system, stand before /user below the root.

story the system is started first and stopped last (G-01, G-02)
tree
  a
  b
system log
boot
expect S log, S a, S b
shutdown
expect t b, x b, t a, x a, t log, x log, exit 0

story the system is restarted until the last of /user is gone (G-02, G-06)
tree
  a
  b
system log backoff=10ms/1s on_failure=any->restart
boot
expect S log, S a, S b
slow b 1s
shutdown
expect t b
signal log KILL
reports
after 20ms
expect S log
start a
reply start a invalid
start /user
reply start /user invalid
after 1s
expect x b, t a, x a, t log, x log, exit 0

story a quit kills all processes at once
tree
  a
system log
boot
expect S log, S a
quit
expect K log, K a, x log, x a, exit 0

story /user gives up: first it ends, then the system, then supd, with 70 (G-03, G-04)
tree intensity=1/60s
  a
  b
system log
boot
expect S log, S a, S b
exit a 1
expect S a
reports
exit a 1
expect t b, x b, t log, x log, exit 70
reports

story a slow system is waited for, and the status stays
tree intensity=0/60s
  a
system log shutdown=10s
boot
expect S log, S a
slow log 9s
exit a 1
expect t log
reports
after 9s
expect x log, exit 70

story when /user is stopped by hand the system goes on
tree
  a
system log
boot
expect S log, S a
stop /user
expect t a, x a
reply stop /user done
shutdown
expect t log, x log, exit 0

story the system fails for ever and /user does not notice (G-06)
tree
  a
system log backoff=10ms/1s on_failure=any->restart
boot
expect S log, S a
exit log 1
reports
after 20ms
expect S log
exit log 0
after 40ms
expect S log
signal log KILL
reports
after 20s
expect S log
view a running restarts=0
shutdown
expect t a, x a, t log, x log, exit 0

story the system does not hold up /user when it cannot start
tree
  a
system log backoff=10ms/1s on_failure=any->restart
broken log 2 3
boot
expect S log, S a
reports
after 2s
expect S log, S log, S log
reports

story the system is restarted by name (G-05)
tree
  a
system log
boot
expect S log, S a
restart log
expect t log, x log, S log
reply restart log done
