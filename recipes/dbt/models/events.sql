{{ config(
    materialized='incremental',
    incremental_strategy='append',
    file_format='iceberg',
    post_hook="{{ zorder('zorder(user_id, ts)') }}"
) }}

SELECT user_id, ts, payload
FROM lake.raw.events
{% if is_incremental() %}
WHERE ts > (SELECT max(ts) FROM {{ this }})
{% endif %}
