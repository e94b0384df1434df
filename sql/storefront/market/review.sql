-- The review of a market by the system's administrators.

-- Approves or rejects. {market_id, decision, admin_notes?} -> the market
-- The first approval opens the shop; the approval of a changed one leaves it as open as it is.
-- Fails: market_not_found, invalid_status_transition (it waits for nobody).
create or replace function storefront.market_review(input jsonb) returns jsonb
language plpgsql set search_path = '' as $$
declare
  v_decision text := input ->> 'decision';
  v_asked text := coalesce(app.tenant_id()::text, '');
  v_market storefront.markets;
  v_before text;
begin
  select * into v_market from storefront.markets m where m.id = (input ->> 'market_id')::uuid for update;
  if v_market.id is null then
    perform app.fail('market_not_found');
  end if;
  if v_market.status <> 'pending_approval' and not v_market.needs_reapproval then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', v_market.status, 'to', v_decision));
  end if;
  v_before := v_market.publish_status;
  -- The reviewer belongs to no tenant; what they do here belongs to the market's: log, event, notices.
  perform set_config('app.tenant_id', v_market.tenant_id::text, true);
  update storefront.markets m set
    status = v_decision,
    publish_status = case when v_decision = 'rejected' then 'unpublished' when v_market.status = 'approved' then m.publish_status
      else 'published' end,
    needs_reapproval = false,
    approved_at = case when v_decision = 'approved' then now() end,
    approved_by = case when v_decision = 'approved' then app.user_id() end,
    admin_notes = case when input ? 'admin_notes' then input ->> 'admin_notes' else m.admin_notes end
  where m.tenant_id = v_market.tenant_id
  returning * into v_market;
  perform tenancy.notify_tenant_admins('market_' || v_decision,
    jsonb_build_object('market_id', v_market.id, 'admin_notes', v_market.admin_notes));
  perform storefront.market_event_emit(v_market, v_decision);
  perform storefront.market_published_event_emit(v_market, v_before);
  perform set_config('app.tenant_id', v_asked, true);
  return to_jsonb(v_market);
end $$;
