drop view if exists integration.system_events_list cascade;

drop view if exists integration.system_events_whole cascade;

drop view if exists integration.webhook_events_list cascade;

drop view if exists integration.webhook_events_whole cascade;

-- An event as its publisher is answered and its detail shows it.
create view integration.system_events_whole with (security_invoker = true) as
select e.id, e.tenant_id, e.event_type, e.source_module, e.target_module, e.entity_type, e.entity_id, e.event_data, e.status,
  e.retry_count, e.created_at, e.processed_at, e.error_message
from integration.system_events e;

create view integration.system_events_list with (security_invoker = true) as
select e.id, e.tenant_id, e.event_type, e.source_module, e.target_module, e.entity_type, e.entity_id,
  integration.event_data_shortened(e.event_data) as event_data, integration.shortened(e.event_data) as shortened, e.status,
  e.retry_count, e.created_at, e.processed_at, e.error_message
from integration.system_events e;

-- As the log shows them: the data that was sent, and nothing of the schedule.
create view integration.webhook_events_whole with (security_invoker = true) as
select e.id, e.subscription_id, e.tenant_id, e.event_type, e.body::jsonb -> 'data' as payload, e.status, e.http_status_code,
  e.error_message, e.retry_count, e.created_at
from integration.webhook_events e;

create view integration.webhook_events_list with (security_invoker = true) as
select e.id, e.subscription_id, e.tenant_id, e.event_type, integration.event_data_shortened(e.payload) as payload,
  integration.shortened(e.payload) as shortened, e.status, e.http_status_code, e.error_message, e.retry_count, e.created_at
from integration.webhook_events_whole e;

grant select on integration.system_events_whole, integration.system_events_list, integration.webhook_events_whole,
  integration.webhook_events_list to barid_caller;

drop view if exists integration.webhook_subscriptions_list cascade;

-- Those that are the caller's to keep: the company's, or a merchant's own.
create view integration.webhook_subscriptions_list with (security_invoker = true) as
select s.id, jsonb_build_object('id', m.id, 'key', m.key, 'name', m.name) as module, s.url, s.event_types, s.is_active,
  s.failing_since, s.disabled_at, s.disabled_reason, s.created_at, s.updated_at
from integration.webhook_subscriptions s
join tenancy.modules m on m.id = s.module_id
where s.owner_user_id is not distinct from (select integration.subscription_owner());

grant select on integration.webhook_subscriptions_list to barid_caller;

drop view if exists integration.carriers_list cascade;

create view integration.carriers_list with (security_invoker = true) as
select c.code, c.name, c.logo_url, c.is_internal, c.supports_webhook, c.position,
  case when t.id is not null then jsonb_build_object('is_enabled', t.is_enabled, 'prefer_internal', t.prefer_internal,
    'default_price', t.default_price, 'has_credentials', t.credentials is not null, 'updated_at', t.updated_at) end as configuration
from integration.carriers c
left join integration.tenant_carriers t on t.carrier_code = c.code and t.tenant_id = (select app.tenant_id())
where c.is_active;

grant select on integration.carriers_list to barid_caller;
