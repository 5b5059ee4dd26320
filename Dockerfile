# docker build -t steelman .       how to run it: docs/integrations.md, "A container"
FROM python:3.11-slim AS build
COPY . /src
RUN /src/docker/install.sh /opt/steelman

FROM python:3.11-slim
COPY --from=build /opt/steelman /opt/steelman
COPY docker/health.py /opt/steelman/health.py
RUN useradd --uid 10001 --no-create-home --home-dir /data steelman \
    && install --directory --owner steelman --mode 700 /data
ENV PATH=/opt/steelman/bin:$PATH STEELMAN_DATA_DIR=/data TMPDIR=/data PYTHONDONTWRITEBYTECODE=1
USER steelman
WORKDIR /data
VOLUME /data
EXPOSE 8000 8501
HEALTHCHECK --start-period=60s CMD ["python", "/opt/steelman/health.py"]
CMD ["steelman-api", "--host", "0.0.0.0"]
