drop view if exists integration.merchant_subscriptions_list cascade;

-- The subscriptions of a company's merchants, as its staff see them.
create view integration.merchant_subscriptions_list with (security_invoker = true) as
select s.id, s.owner_user_id, jsonb_build_object('id', p.id, 'full_name', p.full_name) as owner, s.url, s.event_types, s.is_active, s.failing_since,
  s.disabled_at, s.disabled_reason, s.created_at, s.updated_at
from integration.webhook_subscriptions s
join tenancy.profiles p on p.id = s.owner_user_id;

grant select on integration.merchant_subscriptions_list to barid_caller;
