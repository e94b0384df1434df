drop view if exists money.webhook_events_list cascade;

-- Gateways' notices, without their raw bytes: those may name people.
create view money.webhook_events_list with (security_invoker = true) as
select e.id, e.gateway_code, e.event_type, e.proof, e.outcome, e.reason, e.payment_id, p.order_id,
  e.facts ->> 'gateway_order_id' as gateway_order_id, e.facts ->> 'transaction_id' as gateway_transaction_id,
  e.facts ->> 'amount' as amount, e.facts ->> 'unit' as amount_unit, e.facts ->> 'currency' as currency,
  e.resolution, e.action, e.resolution_note, e.resolved_by, e.resolved_at, e.outcome = 'unmatched' and e.resolution is null as is_open, e.created_at
from money.payment_webhook_events e
left join money.payments p on p.tenant_id = e.tenant_id and p.id = e.payment_id
where e.tenant_id = (select app.tenant_id());

grant select on money.webhook_events_list to barid_caller;
