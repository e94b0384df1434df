-- By itself, so that the index of the next file can be built while the table is used.
set lock_timeout = '1s';
set statement_timeout = '1min';

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table integration.webhook_subscriptions in access exclusive mode;
      return;
    exception when lock_not_available then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "integration"."webhook_subscriptions" ADD COLUMN IF NOT EXISTS "owner_user_id" uuid;
