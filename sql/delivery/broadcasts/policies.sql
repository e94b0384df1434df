select app.deny_table('delivery.position_broadcasts');
select app.deny_table('delivery.status_broadcasts');

-- Realtime asks as `authenticated`, with the token of the person who wants to join a private channel. Nobody may send.
do $$
begin
  if to_regclass('realtime.messages') is null then
    raise notice 'there is no Realtime: nobody hears of what happens at once';
    return;
  end if;
  drop policy if exists barid_listeners on realtime.messages;
  create policy barid_listeners on realtime.messages for select to authenticated
    using (realtime.messages.extension = 'broadcast' and (select delivery.may_listen(realtime.topic())));
end $$;
