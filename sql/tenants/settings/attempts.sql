-- The reasons for an attempt that did not deliver which hold while a company saves none of its own.
-- -> [{value, label{en, ar, ku}, kind, counts, needs{photo, note, place}}]
create or replace function tenancy.attempt_reasons_default() returns jsonb
language plpgsql immutable set search_path = '' as $$
begin
  return (
    select jsonb_agg(jsonb_build_object('value', r.value, 'label', jsonb_build_object('en', r.en, 'ar', r.ar, 'ku', r.ku),
      'kind', r.kind, 'counts', r.counts, 'needs', jsonb_build_object('photo', r.photo, 'note', r.note, 'place', r.place)) order by r.position)
    from (values
      (1, 'no_answer', 'No answer', 'لا يرد على الاتصال', 'وەڵامی تەلەفۆن ناداتەوە', 'failed', true, false, false, false),
      (2, 'phone_off', 'Phone switched off', 'الهاتف مغلق', 'تەلەفۆنەکە داخراوە', 'failed', true, false, false, false),
      (3, 'wrong_number', 'Wrong phone number', 'رقم الهاتف خاطئ', 'ژمارەی تەلەفۆن هەڵەیە', 'failed', true, false, false, false),
      (4, 'not_at_place', 'Receiver not at the address', 'المستلم غير موجود في العنوان', 'وەرگر لە ناونیشانەکە نییە', 'failed', true, false, false, true),
      (5, 'wrong_address', 'Wrong address', 'العنوان خاطئ', 'ناونیشانەکە هەڵەیە', 'failed', true, false, true, false),
      (6, 'closed', 'Place closed', 'المكان مغلق', 'شوێنەکە داخراوە', 'failed', true, false, false, true),
      (7, 'postponed', 'Receiver asked for another day', 'طلب المستلم يوماً آخر', 'وەرگر داوای ڕۆژێکی تری کرد', 'postponed', false, false, false, false),
      (8, 'refused', 'Receiver refused the parcel', 'رفض المستلم الطرد', 'وەرگر پارسەڵەکەی ڕەتکردەوە', 'refused', true, false, false, false),
      (9, 'refused_price', 'Receiver refused the price', 'رفض المستلم السعر', 'وەرگر نرخەکەی ڕەتکردەوە', 'refused', true, false, false, false),
      (10, 'damaged', 'Parcel damaged', 'الطرد تالف', 'پارسەڵەکە زیانی پێگەیشتووە', 'refused', false, true, false, false),
      (11, 'not_ordered', 'Receiver did not order it', 'لم يطلبه المستلم', 'وەرگر داوای نەکردووە', 'refused', true, false, false, false),
      (12, 'no_access', 'Road or place not accessible', 'لا يمكن الوصول إلى المكان', 'ناتوانرێت بگەیتە شوێنەکە', 'failed', false, false, true, false)
    ) r (position, value, en, ar, ku, kind, counts, photo, note, place));
end $$;

-- Settings of attempts with what they leave out: what the tenant saved over the defaults.
-- -> {reasons [{value, label, kind, counts, needs{photo, note, place}}], after_last: ask|return, undo_minutes}
create or replace function tenancy.attempt_settings_of(saved jsonb) returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return (
    select '{"after_last": "ask", "undo_minutes": 10}' || s.saved || jsonb_build_object('reasons', case
      when s.saved ? 'reasons' then (
        select jsonb_agg(r.reason || jsonb_build_object('needs', '{"photo": false, "note": false, "place": false}'::jsonb
          || coalesce(r.reason -> 'needs', '{}')) order by r.position)
        from jsonb_array_elements(s.saved -> 'reasons') with ordinality r (reason, position))
      else tenancy.attempt_reasons_default() end)
    -- offset 0 keeps the settings from being read again for each of their uses above.
    from (select jsonb_strip_nulls(attempt_settings_of.saved) as saved offset 0) s);
end $$;

-- The settings of attempts that hold.
create or replace function tenancy.attempt_settings() returns jsonb
language plpgsql stable set search_path = '' as $$
begin
  return tenancy.attempt_settings_of(app.settings('delivery', 'attempts'));
end $$;
