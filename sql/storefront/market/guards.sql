-- The legal moves of a market, kept by the database whatever a core forgets, and what follows from them.

-- A rejected or inactive market becomes a draft again by being changed. Whether it is live or active
-- follows from its statuses.
create or replace function storefront.market_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if tg_op = 'UPDATE' then
    if new.store_name <> old.store_name or new.code <> old.code then
      perform app.fail('market_field_fixed', '{"field": "store_name"}');
    end if;
    if new.status <> old.status and not (old.status || '>' || new.status) = any (array[
      'draft>pending_approval', 'draft>inactive',
      'pending_approval>approved', 'pending_approval>rejected', 'pending_approval>inactive',
      'approved>rejected', 'approved>inactive',
      'rejected>draft', 'rejected>inactive',
      'inactive>draft']) then
      perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
    end if;
  end if;
  new.is_live := new.status = 'approved' and new.publish_status = 'published';
  new.is_active := new.status <> 'inactive';
  return new;
end $$;

-- A domain is connected once: nothing brings an archived one back, and its name never changes.
create or replace function storefront.custom_domain_guard() returns trigger
language plpgsql set search_path = '' as $$
begin
  if new.custom_domain <> old.custom_domain or new.market_id <> old.market_id then
    raise exception 'a connected domain keeps its name and its market' using errcode = 'integrity_constraint_violation';
  end if;
  if new.status <> old.status and not (old.status || '>' || new.status) = any (array[
    'pending_dns>active', 'pending_dns>archived', 'active>pending_dns', 'active>archived']) then
    perform app.fail('invalid_status_transition', jsonb_build_object('from', old.status, 'to', new.status));
  end if;
  return new;
end $$;

drop trigger if exists guard on storefront.markets;
create trigger guard before insert or update on storefront.markets
  for each row execute function storefront.market_guard();
drop trigger if exists guard on storefront.custom_domains;
create trigger guard before update on storefront.custom_domains
  for each row execute function storefront.custom_domain_guard();

grant execute on function storefront.market_guard(), storefront.custom_domain_guard() to barid_caller;
