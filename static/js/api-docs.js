// The description of the API; requests tried here go out in the session of whoever is logged in.
const api = document.getElementById("api");

SwaggerUIBundle({
  domNode: api,
  url: api.dataset.schema,
  validatorUrl: null,
  deepLinking: true,
  defaultModelsExpandDepth: -1,
  requestInterceptor: (request) => {
    request.headers["X-CSRFToken"] = api.dataset.csrf;
    return request;
  },
});
