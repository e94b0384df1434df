-- The first checks of every move of a carried delivery: the leg, its carrier and the proof.

-- The delivery a move is about, its family locked: of a staged parcel the leg under way (the first one that has not
-- ended), else the last. Fails: delivery_not_found, assignment_ended (delivery.delivery_unseen).
create or replace function delivery.delivery_to_move(delivery_id uuid) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.lock_delivery(delivery_to_move.delivery_id);
  v_leg delivery.deliveries;
begin
  if d.delivery_flow = 'pnd_parent' then
    select * into v_leg from delivery.deliveries l where l.tenant_id = d.tenant_id and l.parent_id = d.id
    order by l.status in ('delivered', 'cancelled', 'draft'), case when l.status in ('delivered', 'cancelled') then -l.sequence_plan else l.sequence_plan end
    limit 1;
    -- A draft has no legs yet.
    if found then
      return v_leg;
    end if;
  end if;
  return d;
end $$;

-- Holds a driver whose load changes when an assignment ends; of nobody nothing. Every core that may end one calls it when the family is
-- locked and before it takes numbers or locks wallets and stock, which others hold while they wait for the driver.
-- SECURITY DEFINER: staff of a warehouse and drivers do not write drivers.
create or replace function delivery.lock_driver(driver uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from delivery.drivers r where r.tenant_id = v_tenant and r.user_id = driver for no key update;
end $$;

-- The same for the drivers who have these deliveries, or legs of them, in one order.
create or replace function delivery.lock_drivers_of(delivery_ids uuid[]) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
begin
  perform from delivery.drivers r
  where r.tenant_id = v_tenant and r.user_id in (
    select a.driver_id from delivery.open_assignments a
    join delivery.deliveries d on d.tenant_id = a.tenant_id and d.id = a.delivery_id
    where a.tenant_id = v_tenant and (d.id = any (delivery_ids) or d.parent_id = any (delivery_ids)))
  order by r.user_id for no key update;
end $$;

-- The live assignment of a delivery: the caller's own, or for operations whoever has it; null when nobody does. Its driver is locked.
-- Fails: assignment_ended {delivery_ids, status} (the caller had it: it has ended, or the office has given it to somebody else),
-- forbidden (the caller neither carries it nor sends those who do).
create or replace function delivery.require_carrier(d delivery.deliveries) returns delivery.assignments
language plpgsql set search_path = '' as $$
declare
  a delivery.assignments;
begin
  -- As delivery.open_assignments has it.
  select * into a from delivery.assignments x
  where x.tenant_id = d.tenant_id and x.delivery_id = d.id and (x.status in ('pending', 'assigned', 'accepted')) is true;
  if not app.has_permission('manage:operations:tenant') and a.driver_id is distinct from app.user_id() then
    perform app.fail('assignment_ended', jsonb_build_object('delivery_ids', array[d.id], 'status', d.status,
      'text_key', case x.status when 'completed' then 'delivery_done_by_driver' else 'delivery_left_driver' end))
    from delivery.assignments x
    where x.tenant_id = d.tenant_id and x.delivery_id = d.id and x.driver_id = app.user_id() and x.status in ('completed', 'returned')
    order by x.assignment_time desc limit 1;
    perform app.fail('forbidden');
  end if;
  -- Handed over on the road: whoever gets the parcel says first that it is there.
  if a.status = 'pending' and d.status in ('picked_up', 'in_transit', 'failed', 'returned') then
    perform app.fail('assignment_not_accepted', delivery.unanswered_to_json(a));
  end if;
  perform delivery.lock_driver(a.driver_id);
  return a;
end $$;

-- The params of the refusal because an assignment was not accepted, in words for its driver or for others.
create or replace function delivery.unanswered_to_json(a delivery.assignments) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return jsonb_build_object('status', a.status)
    || case when a.driver_id = app.user_id() then '{"text_key": "assignment_not_accepted_by_you"}'::jsonb else '{}' end;
end $$;

-- Ends the live assignment of a delivery, which lightens its driver's load.
create or replace function delivery.assignment_end(a delivery.assignments, ended_as text) returns void
language plpgsql set search_path = '' as $$
begin
  update delivery.assignments x set status = ended_as, ended_at = clock_timestamp()
  where x.tenant_id = a.tenant_id and x.id = a.id and x.status in ('pending', 'assigned', 'accepted');
end $$;

-- Which proofs a delivery needs at a stage, {photo_required, signature_required}: the tenant's setting
-- delivery.proof_settings, and the service's own signature at the door. A leg that ends in a warehouse needs none:
-- staff count it there. A return that was made at a door needs at least a photo wherever it ends.
create or replace function delivery.proof_needs(d delivery.deliveries, stage text) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return delivery.proof_needs_at(d, stage, null);
end $$;

-- The same as it was asked for at a moment; without one as it is.
create or replace function delivery.proof_needs_at(d delivery.deliveries, stage text, moment timestamptz) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object(
      'photo_required', n.asked and app.boolean_or(p.settings #> array[stage, 'photo_required'], false)
        or stage = 'delivery' and d.made_at_door and d.delivery_flow = 'operational_return',
      'signature_required', n.asked and (app.boolean_or(p.settings #> array[stage, 'signature_required'], false)
        or stage = 'delivery' and d.delivery_flow <> 'operational_return'
          and app.boolean_or(delivery.service_options_at(d.delivery_service_id, moment) -> 'signature_required', false)))
    from (select app.settings_at('delivery', 'proof_settings', moment) as settings) p,
      (select not (stage = 'delivery' and (delivery.is_transferred(d) or delivery.ends_in(d) is not null)) as asked) n);
end $$;

-- True while a proof proves something: not of an outcome that was undone, nor of a pickup that was. SECURITY DEFINER: it may be another driver's.
-- Fails: forbidden (app.require_tenant).
create or replace function delivery.proof_counts(p delivery.delivery_proofs) returns boolean
language plpgsql stable security definer set search_path = '' as $$
begin
  perform app.require_tenant(p.tenant_id);
  return not exists (
    select from delivery.outcomes o
    where o.tenant_id = p.tenant_id and o.delivery_id = p.delivery_id and o.created_at = p.created_at and o.undone_at is not null)
  and not (p.stage = 'pickup' and exists (
    select from delivery.delivery_status_history h
    where h.tenant_id = p.tenant_id and h.delivery_id = p.delivery_id and h.created_at > p.created_at
      and h.from_status in ('picked_up', 'in_transit') and h.to_status in ('assigned', 'accepted')));
end $$;

-- Keeps the proofs of a stage and refuses the move when one that is needed is missing. Of a move that was reported with its time the tenant must
-- have asked for it by then, too: the driver has left the door.
-- proof: {photo_urls?, signature_url?, signed_by?} or null; field: the name by which the caller sent it.
-- Fails: invalid_proof_url, delivery_proof_required {missing: [photo|signature], field: of the first}.
create or replace function delivery.delivery_proofs_keep(d delivery.deliveries, p_stage text, proof jsonb, field text default 'proof') returns void
language plpgsql set search_path = '' as $$
declare
  v_photos text[] := array(select jsonb_array_elements_text(coalesce(nullif(proof -> 'photo_urls', 'null'), '[]')));
  v_signature text := proof ->> 'signature_url';
  v_needs jsonb := delivery.proof_needs(d, p_stage);
  v_at timestamptz := delivery.reported_at(d);
  v_missing text[];
begin
  perform delivery.require_proof_urls(v_photos, field || '.photo_urls');
  perform delivery.require_proof_urls(array_remove(array[v_signature], null), field || '.signature_url');
  if v_photos <> '{}' or v_signature is not null then
    insert into delivery.delivery_proofs (tenant_id, delivery_id, stage, kind, url, signed_by, created_by, created_at)
    select d.tenant_id, d.id, p_stage, n.kind, n.url, case n.kind when 'signature' then proof ->> 'signed_by' end, app.user_id(),
      -- As its history has it: this pickup may have waited for the undo of the one before. Others are of the outcome with their time.
      case p_stage when 'pickup' then clock_timestamp() else now() end
    from (
      select 'photo' as kind, url from unnest(v_photos) url
      union all
      select 'signature', v_signature where v_signature is not null
    ) n
    where not exists (select from delivery.delivery_proofs p
      where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = n.kind and p.url = n.url
        and delivery.proof_counts(p));
  end if;
  if not v_needs @? '$.* ? (@ == true)' then
    return;
  end if;
  if v_at is not null then
    v_needs := (
      select jsonb_object_agg(n.key, n.value::boolean and (t.needs -> n.key)::boolean)
      from jsonb_each(v_needs) n, delivery.proof_needs_at(d, p_stage, v_at) t (needs));
  end if;
  v_missing := array(
    select k.kind from (values ('photo'), ('signature')) k (kind)
    where (v_needs ->> (k.kind || '_required'))::boolean and not exists (
      select from delivery.delivery_proofs p where p.tenant_id = d.tenant_id and p.delivery_id = d.id and p.stage = p_stage and p.kind = k.kind
        and delivery.proof_counts(p))
    order by k.kind);
  if v_missing <> '{}' then
    perform app.fail('delivery_proof_required', jsonb_build_object('field',
      field || case v_missing[1] when 'photo' then '.photo_urls' else '.signature_url' end, 'stage', p_stage, 'missing', v_missing));
  end if;
end $$;

-- Where a new proof of a delivery goes in the bucket, for those who carry it or send those who do.
-- {id, stage, kind, extension} -> {path}. Fails: delivery_not_found, forbidden.
create or replace function delivery.delivery_proof_place(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.delivery_to_move((input ->> 'id')::uuid);
begin
  perform delivery.require_carrier(d);
  return jsonb_build_object('path', format('%s/deliveries/%s/%s-%s-%s.%s', d.tenant_id, d.id, input ->> 'stage',
    input ->> 'kind', gen_random_uuid(), input ->> 'extension'));
end $$;

-- The parcel of a delivery as it is, also for a driver who sees a leg of it: for what the parcel's terms decide.
create or replace function delivery.parcel_terms(d delivery.deliveries) returns delivery.deliveries
language plpgsql stable security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_terms delivery.deliveries;
begin
  select p.* into v_terms from delivery.deliveries p where p.tenant_id = v_tenant and p.id = coalesce(d.parent_id, d.id);
  return v_terms;
end $$;

-- Notes where a parcel is, on itself and its legs, and on what it brings back as an operational return; null: somebody carries it.
create or replace function delivery.parcel_at(parcel uuid, warehouse uuid) returns void
language plpgsql security definer set search_path = '' as $$
declare
  v_tenant uuid := app.tenant_id();
  v_parcels uuid[] := parcel || array(
    select o.id from delivery.deliveries r
    join delivery.deliveries o on o.tenant_id = r.tenant_id and o.id = r.original_delivery_id
    -- The rest of a parcel that was delivered in part is not the parcel.
    where r.tenant_id = v_tenant and r.id = parcel and r.delivery_flow = 'operational_return'
      and (o.status <> 'delivered' or delivery.return_has_ended(o)));
begin
  update delivery.deliveries d set current_warehouse_id = warehouse
  where d.tenant_id = v_tenant and (d.id = any (v_parcels) or d.parent_id = any (v_parcels)) and d.current_warehouse_id is distinct from warehouse;
end $$;

grant execute on function delivery.parcel_terms(delivery.deliveries), delivery.parcel_at(uuid, uuid) to barid_caller;
