-- The column that the index of the next file is made of.
set lock_timeout = '1s';
set statement_timeout = '1min';

do $$
begin
  for v_try in 1..30 loop
    begin
      set local lock_timeout = '400ms';
      lock table integration.webhook_subscriptions in access exclusive mode;
      set local lock_timeout = '1s';
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "integration"."webhook_subscriptions" ADD COLUMN "removed_at" timestamp with time zone;
