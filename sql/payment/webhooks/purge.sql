-- Ends what gateways reported, two years after it came: longer than the 540 days that a card payment can be disputed. Reports that changed
-- nothing go, and come to nothing again should they be repeated; of the others their bytes, which may name people. What was booked, or could not be,
-- is in the books and stays: repeated, it has to be known. What nobody has resolved keeps its bytes. A batch a run. Run by cron.
-- -> how many were deleted or emptied
create or replace function money.payment_events_purge() returns bigint
language plpgsql set search_path = '' as $$
declare
  v_deleted bigint;
  v_emptied bigint;
begin
  delete from money.payment_webhook_events e where e.id in (
    select x.id from money.payment_webhook_events x
    where x.outcome = 'ignored' and x.created_at < now() - interval '730 days'
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_deleted = row_count;
  update money.payment_webhook_events e set raw_body = null where e.id in (
    select x.id from money.payment_webhook_events x
    where x.raw_body is not null and x.created_at < now() - interval '730 days'
      and (x.outcome = 'processed' or x.resolution is not null)
    order by x.created_at limit 50000 for update skip locked);
  get diagnostics v_emptied = row_count;
  return v_deleted + v_emptied;
end $$;

-- Nobody calls it but cron.
revoke execute on function money.payment_events_purge() from barid_caller;
