-- Requests for a customer return: asked by the owner, decided by the office.

-- True when a return that the caller orders waits for the office. Without the setting nothing waits.
create or replace function delivery.return_needs_approval() returns boolean
language plpgsql stable set search_path = '' as $$
begin
  return not app.has_permission('manage:operations:tenant')
    and not app.boolean_or(app.settings('general', 'delivery') #> '{return_requests,auto_approval}', true);
end $$;

-- Writes the request for a return, whose delivery its caller has locked, and notifies who decides. SECURITY DEFINER: nobody writes requests
-- otherwise.
create or replace function delivery.return_request_ask(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  insert into delivery.return_requests (tenant_id, delivery_id, requested_by) values (app.tenant_id(), p_delivery, app.user_id());
  perform tenancy.notify_roles(d.tenant_id, '{tenant_admin,operations_manager,dispatcher}', 'return_requested',
    jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'original_delivery_id', d.original_delivery_id))
  from delivery.deliveries d where d.tenant_id = app.tenant_id() and d.id = p_delivery;
end $$;

-- Decides the open request for a return, if there is one: approved, or declined for this reason; who asked is notified. Answers whether there was one.
-- SECURITY DEFINER: nobody writes requests otherwise. Fails: forbidden.
create or replace function delivery.return_request_decide(p_delivery uuid, decision text, p_reason text) returns boolean
language plpgsql security definer set search_path = '' as $$
declare
  v_asked_by uuid;
begin
  if delivery.return_needs_approval() then
    perform app.fail('forbidden');
  end if;
  update delivery.return_requests q set status = decision, reason = p_reason, decided_by = app.user_id(), decided_at = now()
  where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery and q.status = 'requested'
  returning q.requested_by into v_asked_by;
  if not found then
    return false;
  end if;
  insert into tenancy.notifications (tenant_id, user_id, type, payload)
  select d.tenant_id, v_asked_by, case decision when 'approved' then 'return_approved' else 'return_declined' end,
    jsonb_build_object('delivery_id', d.id, 'delivery_code', d.delivery_code, 'reason', p_reason)
  from delivery.deliveries d
  join tenancy.tenant_users u on u.tenant_id = d.tenant_id and u.user_id = v_asked_by
  where d.tenant_id = app.tenant_id() and d.id = p_delivery and v_asked_by is distinct from app.user_id();
  return true;
end $$;

-- Ends the open request of a draft that was cancelled. SECURITY DEFINER: owners, who cancel their drafts, write no requests.
create or replace function delivery.return_request_cancel(p_delivery uuid) returns void
language plpgsql security definer set search_path = '' as $$
begin
  update delivery.return_requests q set status = 'cancelled', decided_by = app.user_id(), decided_at = now()
  from delivery.deliveries d
  where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery and q.status = 'requested'
    and d.tenant_id = q.tenant_id and d.id = q.delivery_id and d.status = 'cancelled';
end $$;

grant execute on function delivery.return_request_ask(uuid), delivery.return_request_decide(uuid, text, text),
  delivery.return_request_cancel(uuid) to barid_caller;

-- The request for a return, {status, reason, requested_at, decided_at, decided_by}; null where nobody had to ask.
create or replace function delivery.return_request_to_json(p_delivery uuid) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select jsonb_build_object('status', q.status, 'reason', q.reason, 'requested_at', q.requested_at, 'decided_at', q.decided_at,
      'decided_by', case when q.decided_by is not null then jsonb_build_object('id', q.decided_by, 'full_name', delivery.person_name(q.decided_by)) end)
    from delivery.return_requests q where q.tenant_id = app.tenant_id() and q.delivery_id = p_delivery);
end $$;

-- A draft whose return is requested, with its family locked. Fails: delivery_not_found, return_request_not_pending.
create or replace function delivery.lock_return_request(p_delivery uuid) returns delivery.deliveries
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.lock_delivery(p_delivery);
  v_status text;
begin
  select q.status into v_status from delivery.return_requests q where q.tenant_id = d.tenant_id and q.delivery_id = d.id;
  if v_status is distinct from 'requested' or d.status <> 'draft' then
    perform app.fail('return_request_not_pending', jsonb_build_object('status', v_status));
  end if;
  return d;
end $$;

-- Approves a return: it is ordered and charged, as by delivery.delivery_submit. {id} -> the delivery
-- Fails: delivery_not_found, return_request_not_pending, insufficient_wallet_balance.
create or replace function delivery.return_request_approve(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
begin
  perform delivery.lock_return_request((input ->> 'id')::uuid);
  return delivery.delivery_submit(input);
end $$;

-- Declines a return: its draft is cancelled for this reason, so another one can be asked for. {id, reason} -> the delivery
-- Fails: delivery_not_found, return_request_not_pending.
create or replace function delivery.return_request_decline(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  d delivery.deliveries := delivery.lock_return_request((input ->> 'id')::uuid);
begin
  update delivery.deliveries x set status = 'cancelled', status_reason = input ->> 'reason' where x.tenant_id = d.tenant_id and x.id = d.id;
  perform delivery.return_request_decide(d.id, 'declined', input ->> 'reason');
  return delivery.delivery_created_to_json(d.id);
end $$;
