-- In how many milliseconds something comes due that the sender could claim, at most `ahead` from now; null: nothing does,
-- or another run keeps the watch. `take` makes this run (`watcher`) the one that does. What another worker has in hand
-- is left to that worker, which takes the watch when it is done; what waits for an earlier event of its thing is not due.
create or replace function integration.webhooks_watch(watcher uuid, take boolean, ahead interval default '65 seconds') returns integer
language plpgsql security definer set search_path = '' as $$
#variable_conflict use_variable
begin
  if take then
    insert into integration.sender_watch as w (watcher) values (watcher)
    on conflict (is_only) do update set watcher = excluded.watcher;
  elsif not exists (select from integration.sender_watch w where w.watcher = watcher) then
    return null;
  end if;
  return (
    select min(ceil(1000 * greatest(0, extract(epoch from d.next_attempt_at - clock_timestamp()))))::integer
    from integration.subscriptions_waiting() w (id)
    join integration.webhook_subscriptions s on s.id = w.id
    cross join lateral (
      select e.next_attempt_at from integration.webhook_events e
      where e.subscription_id = s.id and e.next_attempt_at <= now() + ahead and e.claim_token is null
        and not exists (select from integration.webhook_events p
          where p.subscription_id = e.subscription_id and p.entity_key = e.entity_key and p.next_attempt_at is not null
            and p.position < e.position)
      order by e.next_attempt_at limit 1
    ) d
    where integration.hears(s) and not exists (select from integration.webhook_events u
      where u.subscription_id = s.id and u.claim_token is not null and u.next_attempt_at is not null
        and u.claimed_at >= now() - interval '3 seconds'));
end $$;

grant execute on function integration.webhooks_watch(uuid, boolean, interval) to barid_api;

-- Nobody calls these but other functions and triggers.
revoke execute on function integration.webhooks_watch(uuid,boolean,interval) from barid_caller;
