drop view if exists delivery.manifest_exceptions_list cascade;

-- Exceptions with the item and the manifest they stand on; both null for a parcel that stands on no manifest. The label of a reason is the tenant's, one text
-- or one in each language; it is null for reasons the settings no longer have and for missing_on_receive, which is ours.
create view delivery.manifest_exceptions_list with (security_invoker = true) as
select x.id, x.manifest_item_id, coalesce(i.barcode_value, x.barcode_value) as barcode_value, i.status as item_status, x.manifest_id, m.manifest_number,
  m.status as manifest_status,
  case when m.id is not null
    then jsonb_build_object('id', m.institution_user_id, 'full_name', p.full_name, 'phone', p.phone) end as institution,
  jsonb_build_object('value', x.reason, 'label', (
    select case jsonb_typeof(r.reason -> 'label') when 'object' then app.localized(r.reason -> 'label') else r.reason ->> 'label' end
    from tenancy.tenant_settings s
    cross join lateral jsonb_array_elements(
      case jsonb_typeof(s.settings -> 'reasons') when 'array' then s.settings -> 'reasons' else '[]' end) r (reason)
    where s.tenant_id = x.tenant_id and s.module = 'delivery' and s.group_key = 'transfer_manifest'
      and r.reason ->> 'value' = x.reason
    limit 1)) as reason,
  x.notes, to_jsonb(x.photo_urls) as photo_urls, x.status,
  case when x.created_by is not null then jsonb_build_object('id', x.created_by, 'full_name', c.full_name) end as created_by,
  x.created_at, x.resolved_at,
  case when x.status = 'resolved' then jsonb_build_object('outcome', x.outcome, 'notes', x.resolution_notes,
    'resolved_by', case when x.resolved_by is not null
      then jsonb_build_object('id', x.resolved_by, 'full_name', r.full_name) end) end as resolution
from delivery.transfer_manifest_exceptions x
left join delivery.transfer_manifest_items i on i.tenant_id = x.tenant_id and i.id = x.manifest_item_id
left join delivery.transfer_manifests m on m.tenant_id = x.tenant_id and m.id = x.manifest_id
left join tenancy.people p on p.id = m.institution_user_id
left join tenancy.profiles c on c.id = x.created_by
left join tenancy.profiles r on r.id = x.resolved_by;

grant select on delivery.manifest_exceptions_list to barid_caller;
