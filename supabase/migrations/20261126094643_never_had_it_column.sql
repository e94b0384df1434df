-- Written by npm run db:migration. One transaction: a failure leaves the schema as it was. By itself, since calls lock a delivery before its
-- assignments: a lock of both would stand in their way.
set lock_timeout = '1s';
set statement_timeout = '1min';
set check_function_bodies = off;

do $$
begin
  for v_try in 1..30 loop
    begin
      lock table delivery.assignments in access exclusive mode;
      return;
    exception when lock_not_available or deadlock_detected then
      if v_try = 30 then
        raise;
      end if;
      perform pg_sleep(0.2);
    end;
  end loop;
end $$;

ALTER TABLE "delivery"."assignments" ADD COLUMN "withdrawn" boolean NOT NULL DEFAULT false;
