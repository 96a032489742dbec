story A-29 what is left of an earlier life does nothing
tree
  a
boot
expect S a
ready a
ready a
expect nothing
exit a 1
expect S a
reports
view a running

story law 6 there is no restart within a turn
tree
  a
  b
boot
expect S a, S b
exit a 1 & stop a
expect nothing
reports
reply stop a done
view a stopped

story a stop and a crash in the same turn end in a stop
tree
  a
boot
expect S a
stop a & exit a 1
expect nothing
reports
reply stop a done
view a stopped

story a tree without actors boots and shuts down
tree
boot
expect nothing
view /user running
shutdown
expect exit 0

story a supervisor without children is running
tree
  s one_for_one
  a
boot
expect S a
view s running

story the last child is done and its supervisor runs on
tree
  s one_for_one
    a transient
boot
expect S a
exit a 0
view a done
view s running
