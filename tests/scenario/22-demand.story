story an actor that starts on demand waits for a client, and holds up no sibling
tree
  a on_demand
  b
boot
expect listen a, S b
view a waiting ready=yes generation=0
view b running
demand a
expect S a
view a running ready=yes generation=1 restarts=0
demand a
expect nothing
shutdown
expect t b, x b, t a, x a, exit 0

story a call that waits for its readiness is answered while it waits for a client
tree
  a on_demand
wait a ready
boot
expect listen a
reply wait a done
stop a
reply stop a done
view a stopped ready=no
demand a
expect nothing
start a
expect S a
reply start a done
view a running

story an actor that waits for a client is started by hand
tree
  a on_demand ready=told
boot
expect listen a
start a
expect S a
view a starting
ready a
reply start a done
view a running generation=1

story what fails is restarted without a client, after its delay
tree
  a on_demand backoff=1s/8s/10s/2000/0
boot
expect listen a
demand a
expect S a
exit a 1
report failure a exit:1 restart delay=1s
demand a
expect nothing
view a backoff ready=no
after 999ms
expect nothing
after 1ms
expect S a
view a running restarts=1 generation=2

story an actor on demand that ended normally waits for the next client, without a decider
tree intensity=0/60s
  s one_for_all intensity=0/60s
    a on_demand
    b
boot
expect listen a, S b
demand a
expect S a
exit a 0
expect listen a
reports
view a waiting ready=yes restarts=0
view s running window=0
demand a
expect S a
view a running generation=2 restarts=0
view b generation=1

story a transient actor on demand waits again after its end, a temporary one does not
tree
  a on_demand transient
  b on_demand temporary
boot
expect listen a, listen b
demand a
expect S a
demand b
expect S b
exit a 0
expect listen a
exit b 0
expect removed b
view a waiting
view b unknown

story an actor on demand that ends at once is not started more often than its backoff begins with
tree
  a on_demand backoff=200ms/30s
boot
expect listen a
demand a
expect S a
after 50ms
exit a 0
demand a
expect nothing
view a backoff due=150ms failures=0
after 149ms
expect nothing
after 1ms
expect listen a
demand a
expect S a
after 250ms
exit a 0
expect listen a

story a group restart starts actors on demand that ran, and has the others wait again
tree
  s one_for_all
    a on_demand
    b on_demand
    c
boot
expect listen a, listen b, S c
demand a
expect S a
exit c 1
report failure c exit:1 restart group=yes
expect t a, x a, S a, listen b, S c
view a restarts=1
view b waiting restarts=0

story a supervisor that starts anew has all wait again
tree
  s one_for_one
    a on_demand
boot
expect listen a
demand a
expect S a
restart s
expect t a, x a, listen a
reply restart s done

story an actor on demand is stopped while it waits, and a client does not start it then
tree
  s one_for_one
    a on_demand
    b
boot
expect listen a, S b
stop a
reply stop a done
demand a
expect nothing
stop s
expect t b, x b
reply stop s done
demand a
expect nothing
view a stopped

story an actor on demand that is not needed any more is stopped and waits
tree
  a on_demand
boot
expect listen a
idle a
expect nothing
demand a
expect S a
idle a
expect t a, x a, listen a
view a waiting ready=yes restarts=0
reports

story an actor on demand that is not needed any more does not come back from its backoff
tree
  a on_demand backoff=1s/8s/10s/2000/0
boot
expect listen a
demand a
expect S a
exit a 1
reports
idle a
expect nothing
view a backoff
after 1s
expect listen a
view a waiting

story demand and idleness do not change an actor that does not start on demand
tree
  a
boot
expect S a
idle a
expect nothing
exit a 0
expect S a
stop a
expect t a, x a
reply stop a done
demand a
expect nothing

story a reload that takes start_on away starts the actor
tree
  a on_demand
boot
expect listen a
update a on_boot
expect S a
update a on_demand
exit a 0
expect listen a
bounce a
expect nothing
demand a
expect S a
bounce a
expect t a, x a, S a

story an actor on demand that is added at run time counts as added when it waits
tree
  s one_for_one
    b
boot
expect S b
grow s a on_demand
expect listen a
reply add a done
view a waiting
demand a
expect S a

story an actor on demand stands still from its start below a suspended supervisor
tree
  s one_for_one
    a on_demand
boot
expect listen a
suspend s
reply suspend s done
demand a
expect S a, freeze a
resume s
reply resume s done
expect thaw a

story needs: an actor on demand counts as ready for others, and starts when its own needs are met
tree start=parallel
  a needs=b:ready,c:started
  b on_demand needs=d:ready
  c on_demand
  d ready=told
boot
expect listen b, listen c, S d, S a
demand b
expect nothing
view b waiting ready=no lacks=d
ready d
expect S b
view b running
