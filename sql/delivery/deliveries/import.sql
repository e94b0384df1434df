-- Orders the deliveries of a file, each as delivery_create does, charged like any other.
-- {lines, dry_run, refused?} -> see app.import_lines. Fails: import_has_errors; a line: as delivery_create.
-- Returned deliveries are locked before the first line, since a line before may hold the counter of delivery codes by then. That counter each line takes
-- before a wallet, so that of two files at once the second waits at its first line.
create or replace function delivery.delivery_import(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_returned uuid[] := array(
    select (l -> 'input' ->> 'original_delivery_id')::uuid from jsonb_array_elements(input -> 'lines') l
    where l -> 'input' ->> 'delivery_flow' = 'customer_return');
begin
  if v_returned <> '{}' then
    perform delivery.lock_deliveries(v_returned);
  end if;
  return app.import_lines('delivery.delivery_create', '{id}', input);
end $$;
