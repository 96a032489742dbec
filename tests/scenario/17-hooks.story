# The actor's own commands around its starts and stops (SEMANTICS 1, 1.2, 3.13).

story 171 C20 the order of a start, a restart and a stop (A-22)
tree
  a hooks=all
boot
expect pre_start a start, S a, post_start a start
view a running ready=yes
exit a 1
expect pre_restart a restart, post_stop a restart, pre_start a restart, S a, post_restart a restart
report failure a exit:1 restart
view a running generation=2
stop a
expect pre_stop a stop, t a, x a, post_stop a stop
reply stop a done
view a stopped
start a
expect pre_start a start, S a, post_start a start
reply start a done
restart a
expect pre_restart a restart, t a, x a, post_stop a restart, pre_start a restart, S a, post_restart a restart
reply restart a done

story 171 each step waits for the one before
tree
  a hooks=all
  b
hook a pre_start lasts 1s
hook a post_start lasts 1s
hook a pre_stop lasts 1s
hook a post_stop lasts 1s
boot
expect pre_start a start
view a starting ready=no
after 999ms
expect nothing
after 1ms
expect S a, post_start a start
view a starting ready=no
# The younger sibling starts when the elder is ready, and that takes its post_start.
after 1s
expect S b
view a running ready=yes
stop a
expect pre_stop a stop
view a stopping
after 1s
expect t a, x a, post_stop a stop
view a stopping
after 1s
expect nothing
reply stop a done
view a stopped

story 93 without its pre_start a process is never executed
tree
  a hooks=all
  b
hook a pre_start fails 1
boot
expect pre_start a start, S b, pre_start a start, S a, post_start a start
report hook_failed a exit:1 * hook=pre_start timed_out=no
report failure a early_exit restart
view a running generation=1 restarts=1

story 93 a pre_start that fails counts as a failed start
tree decider=intensity->stop
  s one_for_one intensity=2/60s
    a hooks=pre_start
hook a pre_start fails
boot
count pre_start a start 3, S a 0
report hook_failed a exit:1
report failure a early_exit restart window=1
report hook_failed a exit:1
report failure a early_exit restart window=2
report hook_failed a exit:1
report failure a early_exit escalate reason=intensity
report gave_up s
report failure s intensity stop

story 98 a post_restart that fails is a failed start, counted, and restarted again
tree
  s one_for_one
    a hooks=all
boot
expect pre_start a start, S a, post_start a start
hook a post_restart fails 1
exit a 1
expect pre_restart a restart, post_stop a restart, pre_start a restart, S a, post_restart a restart
expect t a, x a, post_stop a restart, pre_start a restart, S a, post_restart a restart
report failure a exit:1 restart
report hook_failed a exit:1 * hook=post_restart
report failure a early_exit restart window=2
view a running generation=3 restarts=2
view s window=2

story A-23 the other hooks warn, and things go on
tree
  a hooks=all
hook a post_start fails
hook a pre_restart fails
hook a post_stop fails
hook a pre_stop fails
boot
expect pre_start a start, S a, post_start a start
report hook_failed a exit:1 * hook=post_start
view a running
exit a 1
expect pre_restart a restart, post_stop a restart, pre_start a restart, S a, post_restart a restart
report failure a exit:1 restart
report hook_failed a exit:1 * hook=pre_restart
report hook_failed a exit:1 * hook=post_stop
stop a
expect pre_stop a stop, t a, x a, post_stop a stop
report hook_failed a exit:1 * hook=pre_stop
report hook_failed a exit:1 * hook=post_stop
reply stop a done
view a stopped

story 66 a pre_restart of an inner node that fails or hangs holds nothing up
tree
  inner one_for_one hooks=pre_restart hook_timeout=2s decider=escalating
    a
    b
hook inner pre_restart fails 1
boot
expect S a, S b
exit a 1
expect pre_restart inner restart, t b, x b, S a, S b
report escalated * exit:1 origin=a
report failure inner exit:1 restart origin=a
report hook_failed inner exit:1 * hook=pre_restart timed_out=no
hook inner pre_restart hangs
exit a 1
expect pre_restart inner restart
report escalated * exit:1 origin=a
report failure inner exit:1 restart origin=a
after 1999ms
expect nothing
after 1ms
expect hook_kill inner, t b, x b, S a, S b
report hook_failed inner signal:KILL * hook=pre_restart timed_out=yes
view inner running

story a supervisor has hooks around its children
tree
  s one_for_one hooks=all
    a
    b
boot
expect pre_start s start, S a, S b, post_start s start
stop s
expect pre_stop s stop, t b, x b, t a, x a, post_stop s stop
reply stop s done
start s
expect pre_start s start, S a, S b, post_start s start
reply start s done
restart s
expect pre_restart s restart, t b, x b, t a, x a, post_stop s restart
expect pre_start s restart, S a, S b, post_restart s restart
reply restart s done

story a supervisor that gave up runs its pre_restart when that is decided
tree
  s one_for_one hooks=all intensity=0/1s
    a
    b
boot
expect pre_start s start, S a, S b, post_start s start
exit a 1
expect t b, x b, pre_restart s restart, post_stop s restart
expect pre_start s restart, S a, S b, post_restart s restart
report failure a exit:1 escalate
report gave_up s
report failure s intensity restart

story 1.2 a resume of what is dead runs pre_start only
tree decider=exit:10->resume
  a hooks=all
boot
expect pre_start a start, S a, post_start a start
exit a 10
expect pre_start a restart, S a
report failure a exit:10 resume
view a running generation=2

story a stop while pre_start runs: no process, and nothing to clean up
tree
  a hooks=all
hook a pre_start hangs
boot
expect pre_start a start
stop a
expect hook_kill a
reply stop a done
report nothing
view a stopped generation=0

story a stop while post_start runs
tree
  a hooks=all
hook a post_start hangs
boot
expect pre_start a start, S a, post_start a start
stop a
expect hook_kill a, t a, x a, post_stop a stop
reply stop a done

story a process that ends while its post_start runs
tree
  a hooks=post_start,post_stop
hook a post_start lasts 1s
boot
expect S a, post_start a start
exit a 3
expect hook_kill a, post_stop a restart, S a, post_start a start
report failure a exit:3 restart
after 1s
expect nothing
view a running ready=yes

story a process that ends while its pre_stop runs is not told to stop
tree
  a hooks=all
hook a pre_stop lasts 1s
boot
expect pre_start a start, S a, post_start a start
stop a
expect pre_stop a stop
exit a 0
expect nothing
after 1s
expect post_stop a stop
reply stop a done

story QUIT waits for no hook
tree
  a hooks=all
  b hooks=all
hook b pre_stop hangs
boot
expect pre_start a start, S a, post_start a start, pre_start b start, S b, post_start b start
shutdown
expect pre_stop b stop
quit
expect K a, hook_kill b, x a, K b, x b, exit 0

story a process that was killed in the end is cleaned up after
tree
  a hooks=all
  b hooks=post_stop shutdown=brutal_kill
boot
expect pre_start a start, S a, post_start a start, S b
deaf a
stop a
expect pre_stop a stop, t a
after 1s
expect K a, x a, post_stop a stop
report killed_after_timeout a
reply stop a done
stop b
expect K b, x b, post_stop b stop
reply stop b done

story an end of its own: nothing is to be stopped any more, post_stop cleans up
tree
  t transient hooks=all
boot
expect pre_start t start, S t, post_start t start
exit t 0
expect post_stop t stop
view t done

story a one-shot is ready when it has ended, and then its post_start runs
tree
  a transient ready=exit hooks=all
  b
boot
expect pre_start a start, S a
exit a 0
expect post_start a start, post_stop a stop, S b
view a done ready=yes

story a group restart runs the hooks of each member in its turn
tree
  s one_for_all
    a hooks=all
    b
    c hooks=all
boot
expect pre_start a start, S a, post_start a start, S b, pre_start c start, S c, post_start c start
exit b 1
expect pre_restart c restart, t c, x c, post_stop c restart
expect pre_restart a restart, t a, x a, post_stop a restart
expect pre_start a restart, S a, post_restart a restart, S b
expect pre_start c restart, S c, post_restart c restart
report failure b exit:1 restart

story the hook of a start that is not wanted any more is gone before anything else
tree
  s one_for_all
    a
    b hooks=pre_start
hook b pre_start hangs
boot
expect S a, pre_start b start
exit a 1
expect hook_kill b, S a, pre_start b start
report failure a exit:1 restart

story a manual start whose pre_start fails is an error to the caller
tree
  a hooks=pre_start disabled
hook a pre_start fails
boot
start a
expect pre_start a start
reply start a failed
report hook_failed a exit:1
report failure a early_exit stop reason=manual
view a failed

story I7 a post_restart that fails while its actor is to stop does not let it go before its turn
tree
  s one_for_one
    a hooks=post_restart
    b shutdown=10s
boot
expect S a, S b
hook a post_restart lasts 1s
hook a post_restart fails 1
slow b 3s
exit a 1
expect S a, post_restart a restart
report failure a exit:1 restart
stop s
expect t b
after 3s
expect x b, t a, x a
reports
reply stop s done
