-- Adds a delivery type. {code, name} -> the type as lists show it. Fails: delivery_type_code_exists.
create or replace function delivery.delivery_type_create(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_id uuid;
begin
  insert into delivery.delivery_types (tenant_id, code, name)
  values (app.tenant_id(), input ->> 'code', delivery.translated(input -> 'name')) returning id into v_id;
  return (select to_jsonb(t) from delivery.delivery_types_list t where t.id = v_id);
end $$;
