{% macro zorder(sort_order) %}
CALL system.rewrite_data_files(
  table => '{{ this.schema }}.{{ this.identifier }}',
  strategy => 'zorder',
  sort_order => '{{ sort_order }}'
)
{% endmacro %}
