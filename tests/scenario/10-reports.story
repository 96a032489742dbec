story 172 what is heard of a start
tree
  a ready=told
hear started ready
boot
expect S a
report started /
report started /user
report started a
ready a
report ready a
report ready /user
report ready /

story 173 C19 a permanent actor that ends normally is an exit, not a failure (O-50)
tree
  p
  t transient
  x temporary
hear exited
boot
expect S p, S t, S x
exit p 0
expect S p
report exited p normal
exit t 0
report exited t normal
exit x 1
expect removed x
report exited x exit:1
report failure x exit:1 stop
report nothing

story 174 every failed retry is a failure of its own (O-50)
tree
  a
boot
expect S a
broken a ENOENT 2
exit a 1
expect S a, S a, S a
report failure a exit:1 restart
report failure a exec:ENOENT restart
report failure a exec:ENOENT restart

story 175 a report of giving up has the count, the limit and the child (O-29, O-50)
tree decider=stopping
  s one_for_one intensity=1/60s
    a
boot
expect S a
exit a 1
expect S a
reports
exit a 1
report failure a exit:1 * reason=intensity
report gave_up s * origin=a limit=1
report failure s intensity stop

story 176 L-01 a rule says how loud
tree
  s one_for_one decider=exit:1->resume,exit:2->restart,exit:3->restart/info,exit:4->restart/off,any->stop/warning
    a
boot
expect S a
exit a 1
expect S a
report failure a exit:1 resume log=warning
exit a 2
expect S a
report failure a exit:2 restart log=error
exit a 3
expect S a
report failure a exit:3 restart log=info
exit a 4
report failure a exit:4 restart log=off
after 10ms
expect S a
exit a 5
report failure a exit:5 stop log=warning

story L-01 a supervisor with log_failures off: without a level in a rule nothing is logged
tree
  s one_for_one decider=exit:3->restart/info,default muted
    a
    b on_failure=exit:1->restart
boot
expect S a, S b
exit a 1
expect S a
report failure a exit:1 restart log=off
exit a 3
expect S a
report failure a exit:3 restart log=info
exit b 1
expect S b
report failure b exit:1 restart log=off

story a backoff is heard, with its delay
tree
  a backoff=2s/2s
hear backoff
boot
expect S a
exit a 1
report failure a exit:1 restart delay=2s
report backoff a delay=2s
after 2s
expect S a

story C18 C19 an escalated failure is one failure, where it is handled
tree
  top one_for_one
    mid one_for_one decider=escalating
      low one_for_one decider=escalating
        a
boot
expect S a
exit a 1
expect S a
report escalated * exit:1 origin=a
report escalated * exit:1 origin=a
report failure mid exit:1 restart origin=a
report nothing

story C17 terminated is heard at the final end only
tree decider=exit:9->stop,default
  a
hear terminated
boot
expect S a
exit a 1
expect S a
report failure a exit:1 restart
exit a 9
report failure a exit:9 stop
report terminated a exit:9
