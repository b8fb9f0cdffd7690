"""A Kubernetes resource provider for the Pulumi engine, for machines that can neither find nor download the real plugin.

The engine attaches to it through ``PULUMI_DEBUG_PROVIDERS=kubernetes:PORT``; it stands in for ``pulumi-kubernetes`` 4.29 and
later in server-side apply mode, on a real API server. It does what that plugin does where a user would notice:

* objects are created with a plain create, so an existing object is ``AlreadyExists``; updates are server-side applies with a
  field manager per resource, and conflicts name the other manager and the fields;
* names are generated where none is given, namespaces default to the provider's, and changes of name, namespace, kind and of
  the fields that built-in kinds do not let change are replacements (delete first, when the name stays);
* previews are server-side dry runs; nothing is written, and what the server would refuse is refused at preview;
* ``pulumi.com/waitFor``, ``skipAwait``, ``timeoutSeconds``, ``patchForce``, ``patchFieldManager`` and
  ``deletionPropagationPolicy``, and the resource option ``custom_timeouts``, mean what they mean there;
* deletion waits until the object is gone and, in time-outs, names the finalizers that hold it;
* state has the plugin's shape (``__inputs``, ``__fieldManager``), so that a stack can be continued with the real plugin.

Known differences:

* Charts, YAML files, kustomizations, ``...Patch`` and ``...List`` resources are refused with the remedy.
* The plugin knows no immutable fields of custom resources, and neither does this provider: such an update fails with the
  server's message, at preview. A component that wants a replacement says so itself, with
  ``replace_on_changes=["spec.clusterQueue"], delete_before_replace=True`` (both: without the second the engine creates first).
* A diff compares old inputs with new ones, not the last seen object with new inputs, so what a server or a webhook
  rewrites (``1024Mi`` to ``1Gi``) is no difference. Changes made outside Pulumi are seen by a refresh, as there, and a refresh
  also sees elements added to a list that the program owns as a whole.
* Kinds that own nothing (namespaces, RBAC, Kueue's queues, flavors, …) are deleted in the background instead of the
  foreground: for them both mean the same, but the latter waits for the garbage collector.
* ``metadata.managedFields`` is not kept in the state.
* The field manager's name is derived from the resource's URN (there: random), so that a create that was cut short can be
  recognised as our own; see :mod:`sandbox.provider.objects`.
"""
