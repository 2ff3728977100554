{{- define "rankscope.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "rankscope.labels" -}}
app.kubernetes.io/part-of: rankscope
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}

{{- define "rankscope.secret" -}}
{{ .Values.tokens.existingSecret | default "rankscope-tokens" }}
{{- end }}

{{- define "rankscope.variables" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  {{- if kindIs "map" $value }}
  {{- toYaml $value | nindent 2 }}
  {{- else }}
  value: {{ $value | toString | quote }}
  {{- end }}
{{- end }}
{{- end }}
